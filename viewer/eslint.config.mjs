import eslint from "@eslint/js";
import tseslint from "typescript-eslint";

export default tseslint.config(
  { ignores: ["node_modules/"] },
  eslint.configs.recommended,
  {
    files: ["**/*.ts"],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: { parserOptions: { project: "./tsconfig.json" } },
    rules: {
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      "@typescript-eslint/no-non-null-assertion": "off", // positions in columns are known to be valid
      "no-restricted-properties": ["error", { property: "toLocaleString", message: "Its first call reads the data of locales, some 15 ms: see countNodes." }],
    },
  },
  { files: ["**/*.mjs"], languageOptions: { globals: { process: "readonly", console: "readonly", performance: "readonly", setTimeout: "readonly", document: "readonly", window: "readonly", requestAnimationFrame: "readonly" } } },
);
