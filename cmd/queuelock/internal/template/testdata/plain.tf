# The table of queuelock, and policies for workers, observers and operators.
resource "aws_dynamodb_table" "queuelock" {
  name         = "locks"
  billing_mode = "PAY_PER_REQUEST"
  hash_key     = "pk"
  range_key    = "sk"

  attribute {
    name = "pk"
    type = "S"
  }

  attribute {
    name = "sk"
    type = "S"
  }

  ttl {
    attribute_name = "expiresAt"
    enabled        = true
  }

  lifecycle {
    prevent_destroy = true # another table would lose the last tickets
  }
}

resource "aws_iam_policy" "queuelock_observer" {
  name        = "queuelock-locks-observer"
  description = "A queuelock observer looks at queues: status, ls, history"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "QueuelockObserver"
        Effect   = "Allow"
        Action   = ["dynamodb:DescribeTable", "dynamodb:Query", "dynamodb:Scan"]
        Resource = aws_dynamodb_table.queuelock.arn
      },
    ]
  })
}

resource "aws_iam_policy" "queuelock_worker" {
  name        = "queuelock-locks-worker"
  description = "A queuelock worker uses locks: the library, run, lock and unlock"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "QueuelockWorker"
        Effect   = "Allow"
        Action   = ["dynamodb:ConditionCheckItem", "dynamodb:DeleteItem", "dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query", "dynamodb:UpdateItem"]
        Resource = aws_dynamodb_table.queuelock.arn
      },
    ]
  })
}

resource "aws_iam_policy" "queuelock_operator" {
  name        = "queuelock-locks-operator"
  description = "A queuelock operator repairs queues: status, ls, evict, revoke, sweep"
  policy = jsonencode({
    Version = "2012-10-17"
    Statement = [
      {
        Sid      = "QueuelockOperator"
        Effect   = "Allow"
        Action   = ["dynamodb:DeleteItem", "dynamodb:DescribeTable", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:Scan", "dynamodb:UpdateItem"]
        Resource = aws_dynamodb_table.queuelock.arn
      },
    ]
  })
}
