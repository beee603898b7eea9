// Package ship contains what brings an operator to its users: images without a daemon, SBOMs, builds, and deployments in clusters.
//
// Its packages import the tools, lower layers and each other, and nothing of fault injection.
package ship
