import { writeFileSync } from 'node:fs';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

// Preloaded into a process whose memory is measured. On SIGUSR2 it collects garbage and writes its remaining memory, in bytes, to a file named by its pid.
setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc') as () => void;
process.on('SIGUSR2', () => {
  for (let i = 0; i < 3; i++) collect();
  const { heapUsed, external } = process.memoryUsage();
  writeFileSync(`${process.env.MEMORY_DIR}/${process.pid}`, String(heapUsed + external));
});
