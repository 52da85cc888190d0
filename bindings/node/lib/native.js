// The native part: the one that was built beside this package, else that of a package for this platform.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const platform = `foldback-${process.platform}-${process.arch}`;
// Not every version of npm tells the C libraries of Linux apart: where both are installed, the one that loads is taken.
const packages = process.platform === 'linux' ? [platform, `${platform}-musl`] : [platform];

function load() {
  let failed;
  for (const place of ['../foldback.node', ...packages.map((name) => `${name}/foldback.node`)]) {
    try {
      const file = require.resolve(place);
      return { file, native: require(file) };
    } catch (wrong) {
      if (wrong.code !== 'MODULE_NOT_FOUND' && wrong.code !== 'ERR_DLOPEN_FAILED') throw wrong;
      if (wrong.code === 'ERR_DLOPEN_FAILED') failed ??= wrong;
    }
  }
  throw (
    failed ??
    new Error(
      `the package ${platform} is not installed: install foldback without --omit=optional, or together with the archive of ` +
        `${platform} from the same release; where there is no such package, from a checkout of its repository ` +
        '(npm install ./bindings/node), which needs Rust',
    )
  );
}

/** The library, and its file. */
export const { file, native } = load();
