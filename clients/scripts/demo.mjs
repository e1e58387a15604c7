// A Galatea with demo data, to look around in: prints the login link and runs until Ctrl-C.
// `cargo xtask demo` calls this. The first argument may name a folder that is kept.
import { filled } from './fill.mjs';
import { programPath } from './program.mjs';

const binary = programPath();
if (!binary) {
  console.error('The program is missing: run `cargo build -p galatea`, or name it in GALATEA_BIN.');
  process.exit(1);
}
console.log('Filling the database…');
const folder = process.argv[2];
const { program, stop } = await filled(binary, folder ? { folder } : {});
console.log(`\n  Console    ${await program.link()}\n  Folder     ${program.folder}\n\n  Ctrl-C ends it.`);
const end = async () => {
  await stop();
  if (!folder) program.remove();
  process.exit(0);
};
process.on('SIGINT', end);
process.on('SIGTERM', end);
