// Build of the console: hashed files, nothing inline, no file larger than its budget.
import { fileURLToPath } from 'node:url';
import react from '@vitejs/plugin-react';
import { defineConfig } from 'vitest/config';
// @ts-expect-error The module is plain JavaScript, shared with the scripts.
import { messagesPlugin } from './scripts/messages.mjs';

const api = process.env.GALATEA_API ?? 'http://127.0.0.1:3000';

export default defineConfig({
  plugins: [react(), messagesPlugin(fileURLToPath(new URL('./src', import.meta.url)))],
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
