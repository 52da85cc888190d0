import type { CompactionMatchers } from './index.js';

declare module 'expect' {
  interface Matchers<R extends void | Promise<void>, T = unknown> extends CompactionMatchers<R> {}
}
