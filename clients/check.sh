#!/bin/sh
# Checks of the clients for CI: the typed client fits the program's description, the console's texts,
# types, sizes and built files are right. A program (GALATEA_BIN, else target/debug) and a Chromium are used
# where they are. Where npm is missing it says so and passes: users need no Node.
set -eu
cd "$(dirname "$0")"
if ! command -v npm >/dev/null 2>&1; then
  echo "npm is not installed: the clients were not checked"
  exit 0
fi

echo "== typed client"
(cd typescript && npm ci --no-audit --no-fund && npm run check && npm test)

echo "== console"
cd console
npm ci --no-audit --no-fund
npm run lint
npm run test
before=$(mktemp -d)
trap 'rm -rf "$before"' EXIT
cp -R dist/. "$before"
npm run build
if ! diff -r "$before" dist >/dev/null; then
  echo "clients/console/dist is not what its source builds: run \`npm run build\` and commit it" >&2
  exit 1
fi
echo "dist is what its source builds"

if [ -n "${CHROMIUM:-}" ] || command -v chromium >/dev/null 2>&1; then
  # The walks are always taken; axe over every view, theme and width takes minutes: CLIENTS_ALL=1.
  if [ -n "${CLIENTS_ALL:-}" ]; then npm run browser; else node scripts/browser.mjs flows long hostile keys; fi
  npm run real
else
  echo "no chromium (nor CHROMIUM): the page was not opened in a browser"
fi
