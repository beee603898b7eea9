package controlplane

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"
)

// Settings are flags of one component: name without dashes → value as on the command line.
type Settings map[string]string

// apply sets base and then user, which overrides it, on the component's own flags. It returns an error if the component does
// not have a flag or rejects its value.
func apply(component string, sets cliflag.NamedFlagSets, base, user Settings) error {
	flags := pflag.NewFlagSet(component, pflag.ContinueOnError)
	flags.SetNormalizeFunc(cliflag.WordSepNormalizeFunc)
	for _, set := range sets.FlagSets {
		flags.AddFlagSet(set)
	}
	merged := Settings{}
	maps.Copy(merged, base)
	maps.Copy(merged, user)
	for _, name := range slices.Sorted(maps.Keys(merged)) {
		if flags.Lookup(name) == nil {
			return fmt.Errorf("%s has no setting %q", component, name)
		}
		if err := flags.Set(name, merged[name]); err != nil {
			return fmt.Errorf("%s: setting %q: %w", component, name, err)
		}
	}
	return nil
}

// joinSwitches formats switches for the flags of components: "A=true,B=false".
func joinSwitches(switches map[string]bool) string {
	var joined string
	for i, name := range slices.Sorted(maps.Keys(switches)) {
		if i > 0 {
			joined += ","
		}
		joined += fmt.Sprintf("%s=%t", name, switches[name])
	}
	return joined
}
