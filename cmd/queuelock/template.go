package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/queuelock/queuelock"
	"github.com/queuelock/queuelock/cmd/queuelock/internal/template"
)

type templateFlags struct {
	settings
	role, prefix, account, scope string
	protection, recovery         bool
	tags                         []template.Tag
}

var accountID = regexp.MustCompile(`^([0-9]{12})?$`)

func newTemplate() *cobra.Command {
	var f templateFlags
	formats := []string{"cloudformation", "terraform", "cdk", "iam"}
	cmd := &cobra.Command{
		Use:   "template cloudformation|terraform|cdk|iam",
		Short: "Print the table and its policies for CloudFormation, Terraform, the CDK or IAM",
		Long: `Prints the table and least-privilege policies for worker, observer and operator, as a template of
CloudFormation, a module of Terraform, or a construct of the CDK in TypeScript. The deployment
itself needs the rights of admin. "iam" prints the policy of --role as JSON.

The roles:
  worker     uses locks: the library, run, lock and unlock
  observer   looks at queues: status, ls, history
  operator   repairs queues: status, ls, evict, revoke, sweep
  admin      creates the table

--prefix restricts the policies to entities that begin with it (dynamodb:LeadingKeys). They then
allow no scan, so no "ls" and "sweep --all". --scope table adds the counter of the table.
It makes no request. Locks on items (LockItem) need more: see docs/operations-table.md.

Exit codes:
  64   wrong usage`,
		Example: `  queuelock template cloudformation --table locks > locks.yaml
  queuelock template iam --role worker --prefix ci/ --account 123456789012`,
		ValidArgs: formats,
		Args:      cobra.ExactArgs(1),
		RunE:      func(cmd *cobra.Command, args []string) error { return f.run(cmd, args[0]) },
	}
	flags := cmd.Flags()
	flags.StringVar(&f.table, "table", defaultTable(), "the `NAME` of the table; QUEUELOCK_TABLE sets it too")
	f.addKeys(cmd)
	roleNames.addFlag(cmd, &f.role, "role", "", "of iam")
	flags.StringVar(&f.region, "region", "", "of iam: the `REGION` of the table (default: any)")
	needs(flags, "region", "need a region such as eu-north-1", func() bool { return regionName.MatchString(f.region) })
	flags.StringVar(&f.account, "account", "", "of iam: the `NUMBER` of the account (default: any)")
	needs(flags, "account", "need the 12 digits of an AWS account", func() bool { return accountID.MatchString(f.account) })
	flags.StringVar(&f.prefix, "prefix", "", "only entities that begin with this `TEXT`")
	addScope(cmd, &f.scope)
	flags.BoolVar(&f.protection, "deletion-protection", false, "let AWS refuse to delete the table")
	flags.BoolVar(&f.recovery, "point-in-time-recovery", false, "back up continuously")
	addTags(flags, &f.tags)
	return cmd
}

var regionName = regexp.MustCompile(`^[a-z0-9-]{0,40}$`)

func (f *templateFlags) run(cmd *cobra.Command, format string) error {
	c := template.Config{
		Table: f.table, PartitionKey: f.partitionKey, SortKey: f.sortKey, TTLAttribute: "expiresAt",
		Prefix: f.prefix, Protection: f.protection, Recovery: f.recovery, Tags: f.tags,
	}
	if err := checkArguments(f.table, f.config(queuelock.Config{}), nil); err != nil {
		return err
	}
	if err := forIAM(cmd, format); err != nil {
		return err
	}
	role, _ := template.Find(f.role)
	if strings.HasPrefix(f.table, "arn:") {
		return usagef("--table %.40s: need the name of the table, not its ARN", f.table)
	}
	if f.scope == "table" {
		c.CounterKey = "ticket-master"
	}
	text := template.Text(format, c)
	if format == "iam" {
		text = template.IAM(c, role, f.region, f.account)
	}
	if text == "" {
		return usagef("there is no template %.40q: need cloudformation, terraform, cdk or iam", format)
	}
	_, err := fmt.Fprint(cmd.OutOrStdout(), text)
	return err
}

// forIAM refuses flags that only the format iam uses.
func forIAM(cmd *cobra.Command, format string) error {
	if format == "iam" {
		return nil
	}
	for _, name := range []string{"role", "region", "account"} {
		if cmd.Flags().Changed(name) {
			return usagef("--%s is only for 'template iam': leave it out, as the other formats have policies for worker, observer and operator", name)
		}
	}
	return nil
}

// addTags adds --tag.
func addTags(flags *pflag.FlagSet, tags *[]template.Tag) {
	var texts []string
	flags.StringArrayVar(&texts, "tag", nil, "a tag of the table, `KEY=VALUE`; may be repeated")
	needs(flags, "tag", "need KEY=VALUE, such as team=ops", func() bool {
		key, value, ok := strings.Cut(texts[len(texts)-1], "=")
		*tags = append(*tags, template.Tag{Key: key, Value: value})
		return ok && key != "" && len(key) <= 128 && len(value) <= 256
	})
}
