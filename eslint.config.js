import js from "@eslint/js";
import globals from "globals";

export default [
  { ignores: [".venv/", "runs/", "docs/", "**/vendor/"] },
  js.configs.recommended,
  {
    languageOptions: { ecmaVersion: "latest", sourceType: "module", globals: { ...globals.browser } },
    rules: {
      "max-len": ["error", { code: 120 }],
      "max-lines-per-function": ["error", { max: 60 }],
      "no-unused-expressions": ["error", { allowShortCircuit: false }],
      "no-unused-vars": "error",
      "prefer-const": "error",
      eqeqeq: "error",
      "no-restricted-syntax": [
        "error",
        ...["AssignmentExpression[left.property.name=/^on/]", "Property[key.name=/^on/]"].map((handler) => ({
          selector: `${handler} > ArrowFunctionExpression[body.type=/^(Logical|Binary|Unary)Expression$/]`,
          message: "what is false prevents the event's default: a key then types nothing",
        })),
      ],
      "one-var": ["error", "never"],
      "no-restricted-properties": [
        "error",
        ...["innerHTML", "outerHTML", "insertAdjacentHTML"].map((property) => ({
          property,
          message: "use textContent",
        })),
      ],
      "no-eval": "error",
      "no-new-func": "error",
    },
  },
  { files: ["tests/js/**", "benchmarks/**", "*.config.js"], languageOptions: { globals: { ...globals.node } } },
];
