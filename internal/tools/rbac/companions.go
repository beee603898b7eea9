package rbac

// IsLease reports whether a permission is for Leases.
func (p Permission) IsLease() bool {
	return p.Group == "coordination.k8s.io" && p.Resource == "leases"
}

// IsEvent reports whether a permission is for events.
func (p Permission) IsEvent() bool {
	return p.Resource == "events" && (p.Group == "" || p.Group == "events.k8s.io")
}

// Companions returns the verbs that are needed together with a permission, sooner or later. For example, clients list before they watch if
// the API server does not send the existing objects with a watch.
func (p Permission) Companions() []string {
	switch {
	case p.IsLease() && (p.Verb == "get" || p.Verb == "update"): // a create follows a get that returned 404
		return []string{"create", "get", "update"}
	case p.IsEvent() && p.Verb == "create":
		return []string{"patch"}
	case p.Verb == "watch":
		return []string{"list", "get"}
	case p.Verb == "list":
		return []string{"get"}
	}
	return nil
}
