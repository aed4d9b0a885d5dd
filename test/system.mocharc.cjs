// The system tests: the files that `npm test` leaves out, with its other options.
const { ignore, ...options } = require('../.mocharc.json');

module.exports = { ...options, spec: ignore };
