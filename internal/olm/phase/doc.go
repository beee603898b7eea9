// Package phase decides the phases of a ClusterServiceVersion from facts about its operator. It has no client and no clock.
package phase
