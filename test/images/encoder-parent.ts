import { setTimeout as pause } from 'node:timers/promises';
import { imageEncoder } from '../../workers/image-encoder.ts';

// A separate process that a test kills while it encodes. It sends the id of its child process as soon as there is one.
void imageEncoder.encode(process.argv[2] ?? '', `${process.argv[2]}.out`);
while (imageEncoder.pid() === undefined) await pause(10);
await pause(200);
process.send?.({ pid: imageEncoder.pid() });
