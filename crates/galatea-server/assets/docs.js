// Shows /openapi.json: every operation with its parameters, bodies and answers, and every type.
// All texts are set as text, never as markup.
const make = (tag, text, ...children) => {
  const element = document.createElement(tag);
  if (text) element.textContent = text;
  element.append(...children);
  return element;
};

const typeName = (schema) => {
  if (!schema) return "";
  if (schema.$ref) return schema.$ref.split("/").pop();
  if (schema.type === "array") return `${typeName(schema.items)}[]`;
  const alternatives = schema.oneOf || schema.anyOf;
  if (alternatives) return alternatives.map(typeName).join(" | ");
  const kind = Array.isArray(schema.type) ? schema.type.join(" | ") : schema.type || "any";
  return schema.format ? `${kind} (${schema.format})` : kind;
};

const link = (schema) => {
  const name = typeName(schema);
  const base = name.replace("[]", "");
  if (!schema?.$ref && !schema?.items?.$ref) return make("code", name);
  const anchor = make("a", name);
  anchor.href = `#type-${base}`;
  return anchor;
};

const table = (rows) => {
  const body = make("tbody");
  for (const [name, schema, text] of rows) {
    body.append(make("tr", "", make("th", name), make("td", "", link(schema)), make("td", text)));
  }
  return make("table", "", body);
};

const operation = (method, path, value) => {
  const details = make("details");
  const summary = make("summary", "", make("b", method.toUpperCase()), make("code", path));
  summary.append(make("span", value.summary || value.description || ""));
  details.append(summary);
  if (value.description && value.description !== value.summary) {
    details.append(make("p", value.description));
  }
  const rows = (value.parameters || []).map((parameter) => [
    parameter.name + (parameter.required ? "" : "?"),
    parameter.schema,
    `${parameter.in}. ${parameter.description || ""}`,
  ]);
  const body = value.requestBody?.content?.["application/json"]?.schema;
  if (body) rows.push(["body", body, ""]);
  for (const [status, answer] of Object.entries(value.responses)) {
    const content = Object.values(answer.content || {})[0];
    if (status < "300") rows.push([status, content?.schema, answer.description]);
  }
  details.append(table(rows));
  details.id = value.operationId;
  return details;
};

async function show() {
  const answer = await fetch("/openapi.json");
  const api = await answer.json();
  const operations = document.getElementById("operations");
  operations.replaceChildren();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const [method, value] of Object.entries(methods)) {
      operations.append(operation(method, path, value));
    }
  }
  const types = document.getElementById("types");
  for (const [name, schema] of Object.entries(api.components.schemas)) {
    const details = make("details", "", make("summary", name));
    details.id = `type-${name}`;
    const required = new Set(schema.required || []);
    const rows = Object.entries(schema.properties || {}).map(([key, value]) => [
      key + (required.has(key) ? "" : "?"),
      value,
      value.description || "",
    ]);
    details.append(make("p", schema.description || ""), table(rows));
    types.append(details);
  }
  document.getElementById("search").addEventListener("input", (event) => {
    const wanted = event.target.value.toLowerCase();
    for (const element of operations.children) {
      element.hidden = !element.textContent.toLowerCase().includes(wanted);
    }
  });
  window.addEventListener("hashchange", () => {
    const target = document.getElementById(location.hash.slice(1));
    if (target) target.open = true;
  });
}

show().catch(() => {
  document.getElementById("operations").textContent = "Galatea does not answer.";
});
