import { createServer } from 'node:http';

// Receives uploads and only counts their bytes, to measure the minimum memory that uploads need.
let bytes = 0;
createServer((request, response) => {
  request.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
  });
  request.on('end', () => {
    response.statusCode = 201;
    response.end(String(bytes));
  });
}).listen(Number(process.env.PORT), '127.0.0.1', () => process.send?.('ready'));
