// All components of the console, shown on /design.
export * from './charts';
export * from './chat';
export * from './checklist';
export * from './content';
export * from './controls';
export * from './list';
export * from './log';
export * from './login';
export * from './marks';
export * from './overlay';
export * from './palette';
export * from './shell';
export * from './states';
export * from './stepper';
export * from './trace';
