// The only way from views to the server.
export { type Heard, say } from './chat';
export { galatea, Problem } from './client';
export { faultOf, neededRole } from './fault';
export * from './hooks';
export { startLive } from './live';
export { call } from './server';
export type * from './types';
