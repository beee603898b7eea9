package generate

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/pflag"

	"github.com/operon-framework/operon/internal/tools/flagerror"
)

// Settings say what is generated in an Operon project. They stand in the project's
// `//go:generate operon generate …` line, as flags.
type Settings struct {
	// Paths are patterns of the packages to generate from.
	Paths []string
	// HeaderFile is put before all generated code, Year instead of its YEAR.
	HeaderFile, Year string
	// MaxDescription is how long a description in a CustomResourceDefinition may be, in bytes.
	// Negative: as long as it is.
	MaxDescription int
	// AllowFloats admits float32 and float64 in types.
	AllowFloats bool
	// FeatureGates are those whose fields are in CustomResourceDefinitions.
	FeatureGates []string
	// EmbeddedMetadata gives the metadata of embedded objects a schema.
	EmbeddedMetadata bool
	// RoleName is the name of the Role, by default the operator's.
	RoleName string
	// Shards: the operator is run with --shards, for which it needs more rights.
	Shards bool
	// Tags are build tags to load packages with.
	Tags []string

	Outputs
}

// defaultMaxDescription keeps a sentence or two, and CustomResourceDefinitions small.
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
	set.BoolVar(&s.Shards, "shards", false, "give the operator the rights that it needs to run with --shards")
	set.StringSliceVar(&s.Tags, "tags", nil, "build tags to load packages with")
	s.Outputs.AddFlags(set)
}

// parseSettings reads flags, later ones override earlier ones.
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
	if set.NArg() > 0 {
		return s, fmt.Errorf("%q is not a flag of operon generate", set.Arg(0))
	}
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
