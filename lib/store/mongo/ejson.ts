import mongoose from 'mongoose';

/**
 * The driver's forms of a document. `EJSON` writes it as text and reads it back with the types of its values: MongoDB's extended JSON. `serialize` and
 * `deserialize` do the same as bytes.
 */
export const { EJSON, calculateObjectSize, deserialize, serialize } = mongoose.mongo.BSON;
