from __future__ import annotations

from pathlib import Path
from urllib.parse import quote

import pytest
from starlette.testclient import TestClient

from peephole.server.security import gate_for
from peephole.server.serving import is_loopback


@pytest.mark.parametrize("host", ["127.0.0.1:8800", "localhost:8800", "LOCALHOST", "[::1]:8800"])
def test_our_own_hosts_are_answered(client: TestClient, host: str) -> None:
    assert client.get("/api/v1/captures", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "host",
    [
        "evil.example",
        "127.0.0.1.evil.example",
        "192.168.0.3:8800",
        "",
        "localhost@evil",
        "[::2]",
        "[::1].evil.com",
        "[::1]evil.com:80",
        "[::1]:80.evil.com",
        "[::1]x",
        "[::1",
        "::1]",
        "localhost:80:80",
        "127.0.0.1:x",
        "localhost:8800@evil.com",
        "[[::1]]",
        "[::1]:",
        "localhost:999999",
    ],
)
def test_a_rebound_name_is_refused(client: TestClient, host: str) -> None:
    answer = client.get("/api/v1/captures", headers={"host": host})
    assert answer.status_code == 421
    assert "captures" not in answer.json()


@pytest.mark.parametrize("origin", ["http://evil.example", "null", "http://127.0.0.1:9999", "https://127.0.0.1"])
def test_another_origin_is_refused(client: TestClient, origin: str) -> None:
    for path in ("/", "/api/v1/captures", "/assets/x.js"):
        assert client.get(path, headers={"origin": origin}).status_code == 403


def test_our_own_origin_is_answered(client: TestClient) -> None:
    assert client.get("/api/v1/captures", headers={"origin": "http://127.0.0.1"}).status_code == 200


def test_a_cross_site_fetch_is_refused_but_a_link_to_the_page_works(client: TestClient) -> None:
    fetch = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}
    assert client.get("/api/v1/captures", headers=fetch).status_code == 403
    assert client.get("/", headers=fetch).status_code == 403
    assert client.get("/", headers={"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}).status_code == 200
    assert client.get("/api/v1/captures", headers={"sec-fetch-site": "same-site"}).status_code == 403


def test_every_answer_carries_the_headers(client: TestClient) -> None:
    for path in ("/", "/api/v1/captures", "/api/v1/nothing", "/assets/none.js"):
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cross-origin-resource-policy"] == "same-origin"
        assert "access-control-allow-origin" not in headers
    refused = client.get("/", headers={"host": "evil.example"})
    assert "content-security-policy" in refused.headers


def test_only_get_is_answered(client: TestClient) -> None:
    assert client.post("/api/v1/captures", json={"path": "/etc"}).status_code == 405
    assert client.options("/api/v1/captures").status_code == 405


def test_a_token_is_needed_beyond_loopback(guarded: TestClient) -> None:
    assert guarded.get("/api/v1/captures").status_code == 401
    assert guarded.get("/").status_code == 401
    assert guarded.get("/api/v1/captures?token=s3cret").status_code == 401  # an address of the API never has it
    assert guarded.get("/?token=wrong").status_code == 401
    assert guarded.get("/api/v1/captures", headers={"authorization": "Bearer s3cret"}).status_code == 200
    assert guarded.get("/api/v1/captures", headers={"authorization": "Bearer s3cre"}).status_code == 401


def test_the_token_becomes_a_cookie_and_leaves_the_address(guarded: TestClient) -> None:
    entry = guarded.get("/?token=s3cret")
    assert (entry.status_code, entry.headers["location"]) == (303, "/")
    assert "httponly" in entry.headers["set-cookie"].lower()
    assert "samesite=strict" in entry.headers["set-cookie"].lower()
    assert guarded.get("/api/v1/captures").status_code == 200


def test_a_rebound_name_is_refused_behind_a_token_too(guarded: TestClient) -> None:
    headers = {"host": "evil.example", "authorization": "Bearer s3cret"}
    assert guarded.get("/api/v1/captures", headers=headers).status_code == 421
    assert guarded.get("/api/v1/captures", headers={**headers, "host": "box:8800"}).status_code == 200


def test_loopback_needs_no_token_and_other_addresses_get_one() -> None:
    assert is_loopback("127.0.0.1")
    assert is_loopback("::1")
    assert is_loopback("localhost")
    assert not is_loopback("0.0.0.0")
    assert not is_loopback("localhost.evil.example")
    assert gate_for("127.0.0.1", 8800, None).token is None
    assert "localhost" in gate_for("0.0.0.0", 8800, "t").hosts


def test_static_files_stay_inside_their_folder(client: TestClient) -> None:
    for path in ("/assets/../app.py", "/assets/..%2fapp.py", "/assets/%2e%2e/app.py", "/assets//etc/passwd"):
        assert client.get(path).status_code == 404


def test_hashed_files_may_be_kept_and_the_page_may_not(tmp_path: Path, capture_path: Path) -> None:
    from peephole.server.app import create_app
    from peephole.server.library import Library

    (tmp_path / "assets").mkdir()
    (tmp_path / "assets" / "main-abc.js").write_text("1")
    (tmp_path / "index.html").write_text("<!doctype html>page")
    client = TestClient(create_app(Library([capture_path]), static=tmp_path), base_url="http://127.0.0.1")
    assert "immutable" in client.get("/assets/main-abc.js").headers["cache-control"]
    assert client.get("/").headers["cache-control"] == "no-cache"
    assert client.get("/").text == "<!doctype html>page"


@pytest.mark.parametrize(
    "name", ["x" * 5000 + ".js", "a/../index.js", "%00.js", "\x00.js", "é" * 300 + ".css", ".js", ""]
)
def test_a_file_that_cannot_be_there_is_not_there(client: TestClient, name: str) -> None:
    assert client.get(f"/assets/{quote(name)}").status_code == 404


@pytest.mark.parametrize("host", ["[::1]:8800", "[::1]", "127.0.0.1:1", "LocalHost.:80"])
def test_a_name_and_a_port_are_a_host(host: str) -> None:
    assert gate_for("127.0.0.1", 8800, None).host_known(host)
