#!/usr/bin/env node
// The command: `npx foldback`.
import { file, native } from './native.js';

// Node's own handlers raise the signal again, without an end where the proxy handles it. Once a listener has come and gone,
// a signal has its usual effect.
for (const signal of ['SIGINT', 'SIGTERM']) {
  const listener = () => {};
  process.on(signal, listener);
  process.off(signal, listener);
}

process.exitCode = native.command(file, process.argv.slice(2));
