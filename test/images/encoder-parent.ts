import { setTimeout as pause } from 'node:timers/promises';
import { imageEncoder } from '../../workers/image-encoder.ts';

// A process of its own that is killed while it encodes; it tells its child's id once there is one.
void imageEncoder.encode(process.argv[2] ?? '', `${process.argv[2]}.out`);
while (imageEncoder.pid() === undefined) await pause(10);
await pause(200);
process.send?.({ pid: imageEncoder.pid() });
