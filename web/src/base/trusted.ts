/**
 * The page runs with trusted types: no text becomes markup or a script. Workers of our own origin are the exception.
 */

interface PolicyFactory {
  createPolicy(name: string, rules: Record<string, (text: string) => string>): unknown;
}

/** Lets `new Worker("/assets/…")` pass, and nothing else. */
export function allowOwnScripts(): void {
  const factory = (window as unknown as { trustedTypes?: PolicyFactory }).trustedTypes;
  factory?.createPolicy("default", {
    createScriptURL: (address) => {
      const url = new URL(address, window.location.href);
      if (url.origin !== window.location.origin || !url.pathname.startsWith("/assets/")) {
        throw new TypeError(`a script from ${url.origin} is refused`);
      }
      return address;
    },
  });
}
