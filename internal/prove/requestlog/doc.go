// Package requestlog records the requests of an operator as data: each [Request] with its verb and object, the field manager, the resource
// versions before and after, the duration, the response code, a hash of the body, and whether it changed something.
//
//	Of        parses a request's line and headers, like the API server's own authorizer
//	MetaOf    finds the metadata in a body, JSON or protobuf, even if only its beginning is available
//	Log       stores the last requests in bounded memory
//
// Bodies are not stored, only their hashes: they may contain Secrets.
package requestlog
