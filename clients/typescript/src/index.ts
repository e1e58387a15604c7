// Typed client of Galatea's control plane.
export { createGalatea, type Galatea, type Options, read, rows } from './client.js';
export type { FollowOptions, FollowState, LiveEvent, Missed } from './events.js';
export type { EventData } from './generated/events.js';
export { OPERATIONS } from './generated/operations.js';
export type { components, operations, paths } from './generated/schema.js';
export { Problem, UNREACHABLE } from './problem.js';
export { type StreamEvent, splitEvents, streamEvents } from './sse.js';

/** Objects of the interface by name, such as `Schemas['TurnView']`. */
export type Schemas = import('./generated/schema.js').components['schemas'];
