SELECT CAST("user_id" AS VARCHAR) AS c0, CAST("item" AS VARCHAR) AS c1 FROM "shop"."events" WHERE 1 = 0
