package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// registrations returns all objects that should exist. A kind that is converted and that the cluster
// does not have is an error.
func (s *Server) registrations() ([]registration, error) {
	var all []registration
	for _, kind := range s.converted {
		mapping, err := s.Mapper.RESTMapping(kind.GroupKind(), kind.Version)
		if err != nil {
			return nil, fmt.Errorf("register the conversion of %s: %w", kind.Kind, err)
		}
		all = append(all, &definition{name: mapping.Resource.GroupResource().String(), reads: kind.Version, place: s.place})
	}
	for _, kind := range configurations {
		if hooks := s.hooksIn(kind); len(hooks) > 0 {
			all = append(all, &configuration{
				kind: kind, name: s.Name, owner: s.Operator, version: s.Version, hooks: hooks, scoped: s.Namespaces, place: s.place, mapper: s.Mapper,
			})
		}
	}
	for _, version := range s.aggregated {
		all = append(all, &apiService{version: version, owner: s.Operator, place: s.place})
	}
	for _, p := range s.kinds {
		if len(p.Rules) == 0 {
			continue
		}
		for _, bound := range []bool{false, true} {
			all = append(all, &policy{
				Policy: p, bound: bound, name: s.policyName(p.Kind), owner: s.Operator, scoped: s.Namespaces, mapper: s.Mapper,
			})
		}
	}
	return all, nil
}

var configurations = []schema.GroupVersionKind{mutatingKind, validatingKind}

// hooksIn returns the hooks that are registered in a kind of configuration.
func (s *Server) hooksIn(kind schema.GroupVersionKind) []Hook {
	return slices.DeleteFunc(slices.Clone(s.hooks), func(hook Hook) bool {
		return (hook.Role == Default) != (kind == mutatingKind)
	})
}

// policyName returns the name of the policy of a kind.
func (s *Server) policyName(kind schema.GroupVersionKind) string {
	return s.Name + "." + strings.ToLower(kind.Kind) + "." + groupOf(kind.Group)
}

// record stores which kinds of objects are registered, before the first one is.
func (k *keeper) record(ctx context.Context) error {
	if k.recorded {
		return nil
	}
	var kinds []schema.GroupKind
	for _, one := range k.registry.all {
		if !one.id().foreign {
			kinds = append(kinds, one.id().kind.GroupKind())
		}
	}
	if k.Record != nil && len(kinds) > 0 {
		if err := errors.Join(k.Record.Add(ctx, Itself, kinds), k.recordVersions(ctx)); err != nil {
			return err
		}
	}
	k.recorded = true
	return nil
}

// tidy removes the objects that an earlier version of the operator registered and this one does not. It sends
// no request for kinds that were never registered according to the record.
func (k *keeper) tidy(ctx context.Context) error {
	if k.tidied || k.Record == nil || !k.leads() {
		return nil
	}
	ever, err := k.Record.Kinds(ctx, Itself)
	if err != nil {
		return err
	}
	var leftovers []ident
	for _, of := range k.possible() {
		now := slices.ContainsFunc(k.registry.all, func(one registration) bool { return one.id() == of })
		if !now && slices.Contains(ever, of.kind.GroupKind()) {
			leftovers = append(leftovers, of)
		}
	}
	if err := errors.Join(k.registry.remove(ctx, leftovers), k.removeVersions(ctx)); err != nil {
		return err
	}
	k.tidied = true
	return nil
}

// possible returns all objects that any version of the operator might have registered, for the kinds
// that it manages now. Bindings come before their policies.
func (k *keeper) possible() []ident {
	var all []ident
	for _, kind := range configurations {
		all = append(all, ident{kind: kind, name: k.Name})
	}
	for _, p := range k.kinds {
		name := k.policyName(p.Kind)
		all = append(all, ident{kind: bindingKind, name: name}, ident{kind: policyKind, name: name})
	}
	return all
}
