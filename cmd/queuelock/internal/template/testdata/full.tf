# The table of queuelock, and policies for workers, observers and operators.
resource "aws_dynamodb_table" "queuelock" {
  name         = "locks.v2"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "the \"key\""
  range_key    = "yes"

  deletion_protection_enabled = true

  attribute {
    name = "the \"key\""
    type = "S"
  }

  attribute {
    name = "yes"
    type = "S"
  }

  ttl {
    attribute_name = "42"
    enabled        = true
  }

  point_in_time_recovery {
    enabled = true
  }

  tags = {
    "team" = "a: b"
    "empty" = ""
  }

  lifecycle {
    prevent_destroy = true # another table would lose the last tickets
  }
}

resource "aws_iam_policy" "queuelock_observer" {
  name        = "queuelock-locks.v2-observer"
  description = "A queuelock observer looks at queues: status, ls, history"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "QueuelockObserverItems"
        Effect   = "Allow"
        Action   = ["dynamodb:Query"]
        Resource = aws_dynamodb_table.queuelock.arn
        Condition = {
          "ForAllValues:StringLike" = {
            "dynamodb:LeadingKeys" = ["ci/$${$}{x}$${*}%%{y}\"*", "ticket-master"]
          }
          "Null" = {
            "dynamodb:LeadingKeys" = ["false"]
          }
        }
      },
      {
        Sid      = "QueuelockObserverTable"
        Effect   = "Allow"
        Action   = ["dynamodb:DescribeTable"]
        Resource = aws_dynamodb_table.queuelock.arn
      },
    ]
  })
}

resource "aws_iam_policy" "queuelock_worker" {
  name        = "queuelock-locks.v2-worker"
  description = "A queuelock worker uses locks: the library, run, lock and unlock"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "QueuelockWorkerItems"
        Effect   = "Allow"
        Action   = ["dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        Resource = aws_dynamodb_table.queuelock.arn
        Condition = {
          "ForAllValues:StringLike" = {
            "dynamodb:LeadingKeys" = ["ci/$${$}{x}$${*}%%{y}\"*", "ticket-master"]
          }
          "Null" = {
            "dynamodb:LeadingKeys" = ["false"]
          }
        }
      },
    ]
  })
}

resource "aws_iam_policy" "queuelock_operator" {
  name        = "queuelock-locks.v2-operator"
  description = "A queuelock operator repairs queues: status, ls, evict, revoke, sweep"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "QueuelockOperatorItems"
        Effect   = "Allow"
        Action   = ["dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        Resource = aws_dynamodb_table.queuelock.arn
        Condition = {
          "ForAllValues:StringLike" = {
            "dynamodb:LeadingKeys" = ["ci/$${$}{x}$${*}%%{y}\"*", "ticket-master"]
          }
          "Null" = {
            "dynamodb:LeadingKeys" = ["false"]
          }
        }
      },
      {
        Sid      = "QueuelockOperatorTable"
        Effect   = "Allow"
        Action   = ["dynamodb:DescribeTable"]
        Resource = aws_dynamodb_table.queuelock.arn
      },
    ]
  })
}
