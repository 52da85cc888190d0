import type { CompactionMatchers } from './index.js';

declare module 'vitest' {
  interface Matchers<T = any> extends CompactionMatchers<T> {}
}
