import mongoose from 'mongoose';

/** Writes a document as text and reads it back with the types of its values: MongoDB's extended JSON. */
export const { EJSON, calculateObjectSize } = mongoose.mongo.BSON;
