/** Style sheets are bundled by the build; TypeScript only needs to know that they exist. */
declare module "*.css";
