package api

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// DeepCopy returns a copy that shares nothing.
func (a *App) DeepCopy() *App {
	out := *a
	out.ObjectMeta = *a.ObjectMeta.DeepCopy()
	out.Spec.Config = maps.Clone(a.Spec.Config)
	out.Spec.Env = slices.Clone(a.Spec.Env)
	if a.Spec.Service != nil {
		service := *a.Spec.Service
		out.Spec.Service = &service
	}
	out.Status = *a.Status.DeepCopy()
	return &out
}

// DeepCopy returns a copy that shares nothing.
func (s *AppStatus) DeepCopy() *AppStatus {
	out := *s
	out.Conditions = slices.Clone(s.Conditions)
	return &out
}

// DeepCopy returns a copy that shares nothing.
func (s *Store) DeepCopy() *Store {
	out := *s
	out.ObjectMeta = *s.ObjectMeta.DeepCopy()
	out.Spec.Settings = maps.Clone(s.Spec.Settings)
	out.Status = *s.Status.DeepCopy()
	return &out
}

// DeepCopy returns a copy that shares nothing.
func (s *StoreStatus) DeepCopy() *StoreStatus {
	out := *s
	out.Conditions = slices.Clone(s.Conditions)
	return &out
}

// DeepCopy returns a copy that shares nothing.
func (b *Backup) DeepCopy() *Backup {
	out := *b
	out.ObjectMeta = *b.ObjectMeta.DeepCopy()
	out.Status = *b.Status.DeepCopy()
	return &out
}

// DeepCopy returns a copy that shares nothing.
func (s *BackupStatus) DeepCopy() *BackupStatus {
	out := *s
	out.Conditions = slices.Clone(s.Conditions)
	return &out
}

// DeepCopy returns a copy that shares nothing.
func (s *Site) DeepCopy() *Site {
	out := *s
	out.ObjectMeta = *s.ObjectMeta.DeepCopy()
	out.Spec, out.Status = s.Spec.copied(), *s.Status.DeepCopy()
	return &out
}

// DeepCopy returns a copy that shares nothing.
func (t *Tenant) DeepCopy() *Tenant {
	out := *t
	out.ObjectMeta = *t.ObjectMeta.DeepCopy()
	out.Spec, out.Status = t.Spec.copied(), *t.Status.DeepCopy()
	return &out
}

func (s GrantSpec) copied() GrantSpec {
	s.Reads = slices.Clone(s.Reads)
	return s
}

// DeepCopy returns a copy that shares nothing.
func (s *GrantStatus) DeepCopy() *GrantStatus {
	out := *s
	out.Conditions = slices.Clone(s.Conditions)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (a *App) DeepCopyObject() runtime.Object { return a.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (s *Store) DeepCopyObject() runtime.Object { return s.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (b *Backup) DeepCopyObject() runtime.Object { return b.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (s *Site) DeepCopyObject() runtime.Object { return s.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (t *Tenant) DeepCopyObject() runtime.Object { return t.DeepCopy() }

// DeepCopyObject implements runtime.Object.
func (l *AppList) DeepCopyObject() runtime.Object {
	return &AppList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: each(l.Items, (*App).DeepCopy)}
}

// DeepCopyObject implements runtime.Object.
func (l *StoreList) DeepCopyObject() runtime.Object {
	return &StoreList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: each(l.Items, (*Store).DeepCopy)}
}

// DeepCopyObject implements runtime.Object.
func (l *BackupList) DeepCopyObject() runtime.Object {
	return &BackupList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: each(l.Items, (*Backup).DeepCopy)}
}

// DeepCopyObject implements runtime.Object.
func (l *SiteList) DeepCopyObject() runtime.Object {
	return &SiteList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: each(l.Items, (*Site).DeepCopy)}
}

// DeepCopyObject implements runtime.Object.
func (l *TenantList) DeepCopyObject() runtime.Object {
	return &TenantList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy(), Items: each(l.Items, (*Tenant).DeepCopy)}
}

func each[T any](items []T, copied func(*T) *T) []T {
	if items == nil {
		return nil
	}
	out := make([]T, len(items))
	for i := range items {
		out[i] = *copied(&items[i])
	}
	return out
}

// Granted is what Site and Tenant have in common.
type Granted interface {
	metav1.Object
	runtime.Object
	// Grant returns the spec and the status, which belong to the object.
	Grant() (*GrantSpec, *GrantStatus)
}

// Grant implements Granted.
func (s *Site) Grant() (*GrantSpec, *GrantStatus) { return &s.Spec, &s.Status }

// Grant implements Granted.
func (t *Tenant) Grant() (*GrantSpec, *GrantStatus) { return &t.Spec, &t.Status }
