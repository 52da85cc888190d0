// Which native part is loaded, of those that npm installed.
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { test } from 'node:test';

const modules = fileURLToPath(new URL('../node_modules', import.meta.url));
const own = `foldback-${process.platform}-${process.arch}`;

/** What the command says where the packages beside it hold these libraries: the real one, or bytes that are none. */
function version(parts) {
  const folder = mkdtempSync(join(tmpdir(), 'foldback-'));
  try {
    cpSync(join(modules, 'foldback'), join(folder, 'node_modules/foldback'), { recursive: true });
    for (const [name, library] of Object.entries(parts)) {
      const to = join(folder, 'node_modules', name);
      mkdirSync(to);
      if (library === 'real') cpSync(join(modules, own, 'foldback.node'), join(to, 'foldback.node'));
      else writeFileSync(join(to, 'foldback.node'), library);
    }
    const { stdout, stderr } = spawnSync('node', [join(folder, 'node_modules/foldback/lib/command.js'), '--version'], { encoding: 'utf8' });
    return stdout + stderr;
  } finally {
    rmSync(folder, { recursive: true });
  }
}

test('the library that loads is taken', { skip: process.platform !== 'linux' && 'two C libraries' }, () => {
  const rows = [
    [{ [own]: 'real' }, /^foldback \d/],
    [{ [`${own}-musl`]: 'real' }, /^foldback \d/],
    [{ [own]: 'of another C library', [`${own}-musl`]: 'real' }, /^foldback \d/],
    // What is wrong with the only one is said, not that there is none.
    [{ [own]: 'of another C library' }, /foldback\.node: (file too short|invalid ELF header)/],
    [{}, new RegExp(`the package ${own} is not installed`)],
  ];
  for (const [parts, expected] of rows) assert.match(version(parts), expected, JSON.stringify(parts));
});
