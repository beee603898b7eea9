package check_test

import "github.com/operon-framework/operon/internal/testing/bundles"

// The corpus is shared with the tests of the lifecycle manager.
const (
	csvFile  = bundles.CSVFile
	crdFile  = bundles.CRDFile
	noteFile = bundles.AnnotationsFile
	needFile = bundles.DependenciesFile
)

type change = bundles.Change

var (
	entries    = bundles.All
	entryOf    = bundles.New
	writeFiles = bundles.Write
	edit       = bundles.Edit
	field      = bundles.Field
	schema     = bundles.Schema
)
