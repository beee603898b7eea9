// Package api has the kinds that the operators of the gallery work for:
//
//	App      a Deployment with what it needs: Service, ConfigMap, a Secret of the user's
//	Store    a StatefulSet with data: a claim, a password, a Service
//	Backup   a Job that runs once
//	Site     rights beyond the namespace: a ClusterRole
//	Tenant   the same, of a kind that has no namespace itself
//
// Their CustomResourceDefinitions are in ../config/crd, written by hand, with limits, defaults and
// rules as real ones have them.
package api
