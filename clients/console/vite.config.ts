// Build of the console: hashed files, nothing inline, no file larger than its budget.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
// @ts-expect-error The module is plain JavaScript, shared with the scripts.
import { messagesPlugin } from './scripts/messages.mjs';

const api = process.env.GALATEA_API ?? 'http://127.0.0.1:3000';

const here = (path: string) => fileURLToPath(new URL(path, import.meta.url));

export default defineConfig({
  resolve: {
    // The client is used as its source, so that the page needs no other build before its own.
    alias: {
      'galatea-client': here('../typescript/src/index.ts'),
      'openapi-fetch': here('node_modules/openapi-fetch'),
    },
  },
  plugins: [react(), messagesPlugin(here('./src'))],
  build: {
    target: ['chrome125', 'firefox128', 'safari18'],
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    manifest: true,
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': api, '/openapi.json': api } },
  test: { environment: 'happy-dom', include: ['test/**/*.test.{ts,tsx}'] },
});
