// Packs what npm gets, into a folder: the package without its native part, which names a package for each platform, and the
// one for this platform with the native part that `build.js` made. npm installs that of the platform alone.
//
//     node pack.js FOLDER
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
/** Those that `.github/workflows/release.yml` builds, by `process.platform` and `process.arch`. */
const PLATFORMS = ['linux-x64', 'linux-arm64', 'darwin-x64', 'darwin-arm64', 'win32-x64'];

const { scripts, ...manifest } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8'));
const named = (platform) => `${manifest.name}-${platform}`;
const own = `${process.platform}-${process.arch}`;

/** The manifest of this platform's package. */
function native() {
  const { version, description, license } = manifest;
  const library = process.platform === 'linux' ? { libc: ['glibc'] } : {};
  const about = { name: named(own), version, description: `${description}: the native part for ${own}`, license };
  return { ...about, os: [process.platform], cpu: [process.arch], ...library, files: ['foldback.node'] };
}

/** Packs a folder that `fill` fills, and gives the archive. */
function pack(to, manifest, fill) {
  const folder = mkdtempSync(join(tmpdir(), 'foldback-'));
  try {
    fill(folder);
    const licenses = ['LICENSE-MIT', 'LICENSE-APACHE'];
    for (const license of licenses) copyFileSync(join(here, '../..', license), join(folder, license));
    const files = [...manifest.files, ...licenses];
    writeFileSync(join(folder, 'package.json'), `${JSON.stringify({ ...manifest, files }, null, 2)}\n`);
    // npm is a script of the shell on Windows.
    const npm = ['pack', '--silent', '--ignore-scripts', '--pack-destination', to];
    const { status, stdout, error } = spawnSync('npm', npm, { cwd: folder, encoding: 'utf8', shell: process.platform === 'win32' });
    if (status !== 0) throw error ?? new Error(`npm pack ended with ${status}`);
    return join(to, stdout.trim());
  } finally {
    rmSync(folder, { recursive: true });
  }
}

/** Packs both, and gives their archives. */
export function packBoth(to) {
  mkdirSync(to, { recursive: true });
  const optionalDependencies = Object.fromEntries(PLATFORMS.map((platform) => [named(platform), manifest.version]));
  const main = pack(to, { ...manifest, optionalDependencies }, (folder) => {
    cpSync(join(here, 'lib'), join(folder, 'lib'), { recursive: true });
    copyFileSync(join(here, 'README.md'), join(folder, 'README.md'));
  });
  const part = pack(to, native(), (folder) => copyFileSync(join(here, 'foldback.node'), join(folder, 'foldback.node')));
  return [main, part];
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const archive of packBoth(resolve(process.argv[2]))) console.log(archive);
}
