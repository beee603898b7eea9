package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
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
				Policy: p, bound: bound, name: policyName(s.Name, p.Kind), owner: s.Operator, scoped: s.Namespaces, mapper: s.Mapper,
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
func policyName(name string, kind schema.GroupVersionKind) string {
	return name + "." + strings.ToLower(kind.Kind) + "." + groupOf(kind.Group)
}

// registrationNames is the owner of the names of registrations in the record, which have the form of kinds there.
var registrationNames = schema.GroupKind{Group: Itself.Group, Kind: "RegistrationName"}

// record stores which kinds of objects are registered, and under which name, before the first one is.
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
		name := []schema.GroupKind{schema.ParseGroupKind(k.Name)}
		if err := errors.Join(k.Record.Add(ctx, Itself, kinds), k.Record.Add(ctx, registrationNames, name), k.recordVersions(ctx)); err != nil {
			return err
		}
	}
	k.recorded = true
	return nil
}

// tidy removes the objects that an earlier version of the operator registered and this one does not, under its name and the
// names that it had before. It sends no request for kinds that were never registered according to the record. If registering failed,
// objects with former names stay until it succeeds, so that no namespace is without webhooks.
func (k *keeper) tidy(ctx context.Context, failed error) error {
	if k.tidied || k.Record == nil || !k.leads() {
		return failed
	}
	ever, err := k.Record.Kinds(ctx, Itself)
	former, unread := k.Record.Kinds(ctx, registrationNames)
	if err := errors.Join(err, unread); err != nil {
		return errors.Join(failed, err)
	}
	var gone []registration
	for _, name := range former {
		if name.String() != k.Name && failed == nil {
			gone = append(gone, k.possible(name.String(), ever)...)
		}
	}
	err = errors.Join(failed, k.registry.remove(ctx, k.possible(k.Name, ever), k.occupied), k.retire(ctx, gone), k.removeVersions(ctx))
	k.tidied = err == nil
	return err
}

// possible returns all objects that any version of the operator might have registered under a name, for the kinds that it
// manages now, and that should not exist. Bindings come before their policies.
func (k *keeper) possible(name string, ever []schema.GroupKind) []registration {
	var all []registration
	for _, kind := range configurations {
		all = append(all, &configuration{kind: kind, name: name})
	}
	for _, p := range k.kinds {
		of := policyName(name, p.Kind)
		all = append(all, &policy{name: of, bound: true}, &policy{name: of})
	}
	return slices.DeleteFunc(all, func(one registration) bool {
		now := slices.ContainsFunc(k.registry.all, func(wanted registration) bool { return wanted.id() == one.id() })
		return now || !slices.Contains(ever, one.id().kind.GroupKind())
	})
}

// retire removes what this operator registered in the past. What the operator may not remove is reported, because its Role rarely
// names it.
func (k *keeper) retire(ctx context.Context, gone []registration) error {
	for _, one := range gone {
		err := k.registry.remove(ctx, []registration{one}, k.isOthers)
		if apierrors.IsForbidden(err) {
			k.Log.Error(err, "what the operator registered earlier is left, and requests may fail until it is removed: delete it, or allow the operator to get and delete it", "of", one.id().String())
			continue
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// isOthers reports whether API servers send requests to another instance of the operator, or to another process. A policy, for which
// they send none, may be that of another process on this machine.
func (k *keeper) isOthers(ctx context.Context, who []asked) (bool, error) {
	if len(who) == 0 && k.Service.Name == "" || slices.ContainsFunc(who, func(to asked) bool { return to.service != k.Service }) {
		return true, nil
	}
	return k.occupied(ctx, who)
}
