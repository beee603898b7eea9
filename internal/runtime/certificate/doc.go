// Package certificate issues serving certificates and their certificate authorities (CAs), and reads and writes both as PEM.
//
// Guarantees: a CA can sign for its hosts only, and no error contains a key.
package certificate
