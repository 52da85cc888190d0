// The native part: the one that was built beside this package, else that of the package for this platform.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const platform = `foldback-${process.platform}-${process.arch}`;

function find() {
  for (const place of ['../foldback.node', `${platform}/foldback.node`]) {
    try {
      return require.resolve(place);
    } catch (wrong) {
      if (wrong.code !== 'MODULE_NOT_FOUND') throw wrong;
    }
  }
  throw new Error(
    `the package ${platform} is not installed: install foldback without --omit=optional, or where there is no such package, ` +
      'from a checkout of its repository (npm install ./bindings/node), which needs Rust',
  );
}

/** The file of the library. */
export const file = find();

export const native = require(file);
