// Packs what npm gets, into a folder: the package without its native part, which names a package for each platform, and the
// one for this platform (or that of `FOLDBACK_TARGET`) with the native part that `build.js` made. npm installs that of the
// platform alone. `--plugins` packs the plugins for agents instead.
//
//     node pack.js [--plugins] FOLDER
import { spawnSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
/** Those that `.github/workflows/release.yml` builds, as `process.platform` and `process.arch` name them. */
const PLATFORMS = ['linux-x64', 'linux-x64-musl', 'linux-arm64', 'linux-arm64-musl', 'darwin-x64', 'darwin-arm64', 'win32-x64'];
const PLUGINS = ['pi', 'opencode', 'dsh'];

const read = (folder) => JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
const { scripts, ...manifest } = read(here);
const named = (platform) => `${manifest.name}-${platform}`;

/** Whether the native part is for musl. */
function isMusl() {
  const target = process.env.FOLDBACK_TARGET;
  if (target) return target.endsWith('-musl');
  return process.platform === 'linux' && !process.report.getReport().header.glibcVersionRuntime;
}

const musl = isMusl();
const own = `${process.platform}-${process.arch}${musl ? '-musl' : ''}`;

/** The manifest of this platform's package. */
function native() {
  const { version, description, license, repository } = manifest;
  const library = process.platform === 'linux' ? { libc: [musl ? 'musl' : 'glibc'] } : {};
  const about = { name: named(own), version, description: `${description}: the native part for ${own}`, license, repository };
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

/** Packs the plugins, and gives their archives. */
function packPlugins(to) {
  mkdirSync(to, { recursive: true });
  return PLUGINS.map((name) => {
    const from = join(here, '..', name);
    return pack(to, read(from), (folder) => cpSync(from, folder, { recursive: true }));
  });
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const plugins = process.argv.includes('--plugins');
  for (const archive of (plugins ? packPlugins : packBoth)(resolve(process.argv.at(-1)))) console.log(archive);
}
