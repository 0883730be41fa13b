"""One HTML file out of a capture, to send to somebody who has nothing but a browser."""
