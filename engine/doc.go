// Package engine runs operators that are not written in Go. An engine turns each entry of a file watches.yaml into a
// composer, such as a Helm chart into one that declares the objects that the chart renders. The composer has all
// guarantees of one in Go: package operon plans, applies, prunes and reports.
//
// The program operon-engine runs a directory with such a file. To combine engines with composers in Go, give the options
// of the file to [operon.Main] beside your own:
//
//	watches, err := engine.Read("watches.yaml", helm.Engine{})
//	…
//	options, err := engine.Options(watches)
//	…
//	operon.Main("shop", append(options, operon.API(v1.AddToScheme), operon.Manage(Till{}))...)
package engine
