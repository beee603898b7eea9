package generate

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/internal/tools/flagerror"
)

// Settings define the generated files of an Operon project. They are flags in the project's `//go:generate operon generate …` line.
type Settings struct {
	// Paths are the patterns of packages to generate from.
	Paths []string
	// HeaderFile is the file whose content is written before all generated code, and Year replaces YEAR in it.
	HeaderFile, Year string
	// MaxDescription is the maximum length in bytes of a description in a CustomResourceDefinition. A negative value means no
	// limit.
	MaxDescription int
	// AllowFloats allows float32 and float64 in types.
	AllowFloats bool
	// FeatureGates are the feature gates whose fields are part of CustomResourceDefinitions.
	FeatureGates []string
	// EmbeddedMetadata generates a schema for the metadata of embedded objects.
	EmbeddedMetadata bool
	// RoleName is the name of the Role, by default the name of the operator.
	RoleName string
	// Shards reports that the operator runs with --shards, for which it needs more permissions.
	Shards bool
	// Tags are the build tags for loading packages.
	Tags []string

	dir string // the project's directory in the line, which go generate runs in the directory of its file

	Outputs
}

// defaultMaxDescription is enough for a sentence or two, and keeps CustomResourceDefinitions small.
const defaultMaxDescription = 200

// AddFlags adds a flag for each setting, with its default.
func (s *Settings) AddFlags(set *pflag.FlagSet) {
	set.StringSliceVar(&s.Paths, "paths", []string{"./..."}, "packages to generate from")
	set.StringVar(&s.HeaderFile, "header-file", "", "file whose text precedes all generated code, such as a license")
	set.StringVar(&s.Year, "year", "", "what stands for YEAR in the header")
	set.IntVar(&s.MaxDescription, "max-description", defaultMaxDescription, "longest description in a CustomResourceDefinition, in bytes, cut after a sentence; 0 for none, -1 for all")
	set.BoolVar(&s.AllowFloats, "allow-floats", false, "allow float32 and float64 in types, which not all clients read alike")
	set.StringSliceVar(&s.FeatureGates, "feature-gates", nil, "gates whose fields, marked +operon:feature-gate=NAME, are in CustomResourceDefinitions")
	set.BoolVar(&s.EmbeddedMetadata, "embedded-metadata", false, "give the metadata of embedded objects a schema")
	set.StringVar(&s.RoleName, "role-name", "", "name of the generated Role, by default the operator's")
	set.BoolVar(&s.Shards, "shards", false, "give the operator the permissions that --shards needs")
	set.StringSliceVar(&s.Tags, "tags", nil, "build tags to load packages with")
	s.Outputs.AddFlags(set)
}

// parseSettings parses flags. Later ones override earlier ones.
func parseSettings(flags ...string) (Settings, error) {
	var s Settings
	set := pflag.NewFlagSet("operon generate", pflag.ContinueOnError)
	set.SetOutput(io.Discard)
	s.AddFlags(set)
	err := set.Parse(flags)
	var unknown *pflag.NotExistError
	if errors.As(err, &unknown) {
		return s, fmt.Errorf("%w: want one of %s", err, known(set))
	}
	if err != nil {
		return s, flagerror.Reworded(err)
	}
	if set.NArg() > 1 {
		return s, fmt.Errorf("%q is not a flag of operon generate", set.Arg(1))
	}
	s.dir = set.Arg(0)
	if s.MaxDescription < -1 {
		return s, errors.New("--max-description: want a number of bytes, 0 for no descriptions, or -1 for all of them")
	}
	return s, nil
}

func known(set *pflag.FlagSet) string {
	var names []string
	set.VisitAll(func(flag *pflag.Flag) { names = append(names, "--"+flag.Name) })
	return strings.Join(names, ", ")
}
