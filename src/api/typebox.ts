// The parts of typebox that are used, in one place: the build bundles them (rolldown.config.js).
export { default as Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox';
export { Format } from 'typebox/format';
// Not from typebox/compile, which loads much more for the same check.
export { Compile } from 'typebox/schema';
export { Settings } from 'typebox/system';
