// After the compiler: the program and all that it is made of becomes a few files. To find, read and link the several hundred that
// they are in the sources and in node_modules took most of the time in which a command starts.
export default {
  input: 'dist/cli/main.js',
  output: { dir: 'dist/program', cleanDir: true },
  platform: 'node',
};
