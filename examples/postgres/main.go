// Command postgres runs an operator that manages PostgreSQL servers with credentials and backups.
package main

import (
	"flag"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/postgres/api/v1alpha1"
)

//go:generate operon generate --max-description=0

//operon:domain example.com

func main() {
	var o Postgres
	operon.Main("postgres-operator",
		operon.Flags(func(set *flag.FlagSet) {
			set.StringVar(&o.Image, "postgres-image", "postgres", "`IMAGE` of the server and of backups, without a tag")
		}),
		operon.API(v1alpha1.AddToScheme),
		operon.Manage(&o),
	)
}
