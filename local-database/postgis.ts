/** Control file of a stub extension named postgis. DocumentDB requires an extension of this name; Parlance has no geo queries. */
export const postgisControl = `comment = 'stub: types and names only, no geo functions'
default_version = '0'
relocatable = true
`;

/** The types and functions that DocumentDB's own scripts refer to; every geo query fails. */
export const postgisSql = `CREATE TYPE geometry; 
CREATE FUNCTION geometry_in(cstring) RETURNS geometry LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
CREATE FUNCTION geometry_out(geometry) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'byteaout';
CREATE TYPE geometry (INPUT=geometry_in, OUTPUT=geometry_out, INTERNALLENGTH=VARIABLE);
CREATE TYPE geography;
CREATE FUNCTION geography_in(cstring) RETURNS geography LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
CREATE FUNCTION geography_out(geography) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'byteaout';
CREATE TYPE geography (INPUT=geography_in, OUTPUT=geography_out, INTERNALLENGTH=VARIABLE);
CREATE TYPE box2df;
CREATE FUNCTION box2df_in(cstring) RETURNS box2df LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
CREATE FUNCTION box2df_out(box2df) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'byteaout';
CREATE TYPE box2df (INPUT=box2df_in, OUTPUT=box2df_out, INTERNALLENGTH=16);
CREATE TYPE box2d;
CREATE FUNCTION box2d_in(cstring) RETURNS box2d LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
CREATE FUNCTION box2d_out(box2d) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'byteaout';
CREATE TYPE box2d (INPUT=box2d_in, OUTPUT=box2d_out, INTERNALLENGTH=VARIABLE);
CREATE TYPE gidx;
CREATE FUNCTION gidx_in(cstring) RETURNS gidx LANGUAGE internal IMMUTABLE STRICT AS 'byteain';
CREATE FUNCTION gidx_out(gidx) RETURNS cstring LANGUAGE internal IMMUTABLE STRICT AS 'byteaout';
CREATE TYPE gidx (INPUT=gidx_in, OUTPUT=gidx_out, INTERNALLENGTH=VARIABLE);
CREATE FUNCTION geometry_gist_union_2d(bytea, internal) RETURNS internal LANGUAGE internal AS 'gist_box_union';
CREATE FUNCTION geometry_gist_decompress_2d(internal) RETURNS internal LANGUAGE internal AS 'gist_box_union';
CREATE FUNCTION geometry_gist_penalty_2d(internal,internal,internal) RETURNS internal LANGUAGE internal AS 'gist_box_penalty';
CREATE FUNCTION geometry_gist_picksplit_2d(internal,internal) RETURNS internal LANGUAGE internal AS 'gist_box_picksplit';
CREATE FUNCTION geometry_gist_same_2d(geom1 geometry, geom2 geometry, internal) RETURNS internal LANGUAGE internal AS 'gist_box_same';
CREATE FUNCTION geography_gist_union(bytea, internal) RETURNS internal LANGUAGE internal AS 'gist_box_union';
CREATE FUNCTION geography_gist_decompress(internal) RETURNS internal LANGUAGE internal AS 'gist_box_union';
CREATE FUNCTION geography_gist_penalty(internal,internal,internal) RETURNS internal LANGUAGE internal AS 'gist_box_penalty';
CREATE FUNCTION geography_gist_picksplit(internal,internal) RETURNS internal LANGUAGE internal AS 'gist_box_picksplit';
CREATE FUNCTION geography_gist_same(box2d, box2d, internal) RETURNS internal LANGUAGE internal AS 'gist_box_same';
`;
