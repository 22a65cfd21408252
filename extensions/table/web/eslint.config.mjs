/** ESLint of the page: strict types, short functions. Prettier alone decides how the code is laid out. */
import tseslint from "typescript-eslint";

export default tseslint.config({
  files: ["src/**/*.ts", "src/**/*.tsx"],
  extends: [tseslint.configs.strictTypeChecked],
  languageOptions: { parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname } },
  rules: {
    "max-lines-per-function": ["error", { max: 40, skipBlankLines: true, skipComments: true }],
    "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
    "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
    // A seat is an index of many arrays, and TypeScript (noUncheckedIndexedAccess) asks for the sign at each.
    "@typescript-eslint/no-non-null-assertion": "off",
    // A host in the page answers at once, but as the one on a server does.
    "@typescript-eslint/require-await": "off",
  },
});
