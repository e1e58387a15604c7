// The only way from views to the server.
export * from './hooks';
export { call, Problem, stream } from './http';
export { startLive } from './live';
export type * from './types';
